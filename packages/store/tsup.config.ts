import { libraryConfig } from '../../tools/tsup-library.ts';

// The program of a thread is a file of its own, beside the one that starts it.
export default libraryConfig({
  index: 'src/index.ts',
  'testing/index': 'src/testing/index.ts',
  'span-decoder-worker': 'src/server/span-batch/span-decoder-worker.ts',
});
