import { projectConfig } from '../../tools/vitest-project.ts';

export default projectConfig('langgraph-mail-room');
