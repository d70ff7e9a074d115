import { libraryConfig } from '../../tools/tsup-library.ts';

export default libraryConfig();
