import { libraryConfig } from '../../tools/tsup-library.ts';

export default libraryConfig(['src/index.ts', 'src/internal.ts']);
