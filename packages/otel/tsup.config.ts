import { libraryConfig } from '../../tools/tsup-library.ts';

export default libraryConfig({
  index: 'src/index.ts',
  'operations/index': 'src/operations/index.ts',
  'testing/index': 'src/testing/index.ts',
});
