import { libraryConfig } from '../../tools/tsup-library.ts';

export default libraryConfig({ index: 'src/index.ts', 'feedback/index': 'src/feedback/index.ts' });
