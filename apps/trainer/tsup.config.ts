import { libraryConfig } from '../../tools/tsup-library.ts';

export default libraryConfig({
  index: 'src/index.ts',
  'cli/main': 'src/cli/main.ts',
  'cli/run-command-line': 'src/cli/run-command-line.ts',
  // Beside the bundle that starts them.
  'agent-worker': 'src/workers/agent-worker.ts',
  'dashboard-worker': 'src/cli/train/dashboard-worker.ts',
  'data-set-worker': 'src/server/data-set-worker.ts',
  'training-worker': 'src/server/training-worker.ts',
});
