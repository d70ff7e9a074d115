import { projectConfig } from '../../tools/vitest-project.ts';

// Adapters change what is global to a process, such as `fetch`.
export default projectConfig('mastra', { isolate: true });
