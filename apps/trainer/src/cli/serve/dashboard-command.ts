import type { Command } from 'commander';
import { defaultStoreUrl } from '../../config/environment.ts';
import { defaultDashboardPort } from '../../doctor/dashboard-port.ts';
import { storeHelp, wholeNumber } from '../flags.ts';
import type { DashboardFlags } from './run-dashboard.ts';

const help = `
The dashboard writes annotations only. It shows runs while they train, in this or another process.

--replay and --endpoint repeat recorded model calls, with a checkpoint of the run or another model. The responses are shown and
not recorded. A checkpoint cannot be used while its run trains.

AGL_DASHBOARD_KEY is the key that viewers must enter; any --host but loopback needs one.
AGL_DASHBOARD_ANNOTATOR_KEY is the key for annotations and replays, where viewers need a key.
AGL_STORE_KEY is the key for a store server.

Examples:
  $ agl dashboard                                    the store of this folder, .agl/agl.db
  $ agl dashboard --replay agl.config.ts             with the checkpoints of its runs
  $ agl dashboard --store http://store:4747          a store server
  $ AGL_DASHBOARD_KEY=… agl dashboard --host 0.0.0.0  for viewers on other machines`;

/** Adds `agl dashboard`. */
export function addDashboardCommand(program: Command): void {
  program
    .command('dashboard')
    .description('Serve the web dashboard: runs, rollouts, traces and tokens of a store.')
    .option('--store <url>', storeHelp, defaultStoreUrl)
    .option('--host <host>', 'the address to bind to; any except loopback requires a key', '127.0.0.1')
    .option('--port <n>', 'the port; 0 for any free one', wholeNumber({ min: 0, max: 65535 }), defaultDashboardPort)
    .option('--replay <config>', 'configuration of runs whose checkpoints replay model calls')
    .option('--data-dir <folder>', 'folder of the checkpoints (default: .agl next to the configuration file)')
    .option('--endpoint <url>', 'an OpenAI-compatible API that replays model calls, up to and with /v1')
    .option('--model <name>', 'the model of the endpoint')
    .option('--key-env <name>', 'the environment variable with the key of the endpoint')
    .addHelpText('after', help)
    .action(async (flags: DashboardFlags) => {
      const { runDashboard } = await import('./run-dashboard.ts');
      await runDashboard(flags);
    });
}
