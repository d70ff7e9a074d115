import { libraryConfig } from '../../tools/tsup-library.ts';

export default libraryConfig({
  index: 'src/index.ts',
  internal: 'src/internal.ts',
  workers: 'src/workers/index.ts',
  // Beside the bundle that starts it.
  'event-loop-worker': 'src/workers/event-loop-worker.ts',
});
