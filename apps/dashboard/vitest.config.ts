import { projectConfig } from '../../tools/vitest-project.ts';

export default projectConfig('dashboard', { include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'web/**/*.test.ts'] });
