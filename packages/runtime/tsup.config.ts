import { libraryConfig } from '../../tools/tsup-library.ts';

export default libraryConfig({
  index: 'src/index.ts',
  'losses/index': 'src/losses/index.ts',
  'serving/index': 'src/serving/index.ts',
  'testing/index': 'src/testing/index.ts',
});
