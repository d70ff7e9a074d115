import { projectConfig } from '../../tools/vitest-project.ts';

export default projectConfig('openai-agents-bank-desk');
