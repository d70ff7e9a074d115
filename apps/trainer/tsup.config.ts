import { libraryConfig } from '../../tools/tsup-library.ts';

export default libraryConfig([
  'src/index.ts',
  'src/cli/main.ts',
  'src/cli/run-command-line.ts',
  'src/runtime/event-loop-worker.ts',
]);
