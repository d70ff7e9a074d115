import { projectConfig } from '../../tools/vitest-project.ts';

export default projectConfig('store', { globalSetup: ['test/postgres/global-setup.ts'] });
