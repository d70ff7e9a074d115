import { projectConfig } from '../../tools/vitest-project.ts';

export default projectConfig('ai-sdk-light-switch');
