import { projectConfig } from '../../tools/vitest-project.ts';

export default projectConfig('parcel-desk');
