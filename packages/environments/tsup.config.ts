import { libraryConfig } from '../../tools/tsup-library.ts';

export default libraryConfig({ index: 'src/index.ts', 'contracts/index': 'src/contracts/index.ts' });
