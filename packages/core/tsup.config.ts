import { libraryConfig } from '../../tools/tsup-library.ts';

export default libraryConfig([
  'src/index.ts',
  'src/store-client/index.ts',
  'src/testing/index.ts',
  'src/contracts/index.ts',
  'src/protocol/index.ts',
  'src/adapter/index.ts',
  'src/settings/index.ts',
]);
