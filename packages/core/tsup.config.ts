import { libraryConfig } from '../../tools/tsup-library.ts';

export default libraryConfig([
  'src/index.ts',
  'src/entry-points/spans.ts',
  'src/entry-points/store.ts',
  'src/entry-points/algorithm.ts',
  'src/entry-points/training-runtime.ts',
  'src/entry-points/internal.ts',
  'src/entry-points/metrics.ts',
  'src/store-client/index.ts',
  'src/testing/index.ts',
  'src/contracts/index.ts',
  'src/protocol/index.ts',
  'src/adapter/index.ts',
  'src/settings/index.ts',
]);
