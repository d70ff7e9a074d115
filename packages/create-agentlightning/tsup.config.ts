import { libraryConfig } from '../../tools/tsup-library.ts';

export default libraryConfig({ index: 'src/index.ts', main: 'src/main.ts' });
