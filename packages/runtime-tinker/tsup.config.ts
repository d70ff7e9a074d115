import { libraryConfig } from '../../tools/tsup-library.ts';

export default libraryConfig(['src/index.ts', 'src/main.ts', 'src/testing/index.ts']);
