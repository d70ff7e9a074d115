import type { Command } from 'commander';
import { durationMs, storeHelp, wholeNumber } from '../flags.ts';
import type { KubernetesRunnerFlags } from './run-kubernetes-runner.ts';

const help = `
It reads the queue of the store, and creates a Job for each batch of rollouts. The manifest of --job-template has a container "runner"
with the arguments of \`agl runner\`; to these it adds --max-rollouts and --idle. The Helm chart has both (runners.mode=jobs).

A Job that fails is not repeated: its rollouts return to the queue when the lease of its runner ends. After a failure no Job is created for
10 seconds, which doubles with each further failure, up to five minutes.

SIGTERM deletes the active Jobs; their runners return their rollouts to the queue.

In a pod it uses its ServiceAccount, which must be allowed to list, create and delete Jobs. Elsewhere:
  $ kubectl proxy --port 8001 &
  $ AGL_STORE_KEY=… agl kubernetes-runner --store https://training.example --job-template job.yaml --api http://127.0.0.1:8001

Keys, from the environment:
  AGL_STORE_KEY      for the store, with the role worker`;

/** Adds `agl kubernetes-runner`. */
export function addKubernetesRunnerCommand(program: Command): void {
  program
    .command('kubernetes-runner')
    .description('Run agents as Kubernetes Jobs: one Job for each batch of rollouts in the queue.')
    .requiredOption('--store <url>', storeHelp)
    .requiredOption('--job-template <file>', 'the manifest of a Job, as YAML or JSON')
    .option('--name <name>', 'the prefix of the names of Jobs, and the value of their label', 'agl-runner')
    .option('--run <id>', 'only rollouts of this run; without it, of every run in the store')
    .option('--max-jobs <n>', 'Jobs at a time', wholeNumber({ min: 1, max: 1000 }), 10)
    .option('--rollouts-per-job <n>', 'rollouts of each Job', wholeNumber({ min: 1 }), 32)
    .option('--idle <time>', 'maximum wait of a runner for rollouts before its Job ends', durationMs, 10_000)
    .option('--interval <time>', 'interval between reads of the queue and the Jobs', durationMs, 2000)
    .option('--api <url>', 'the API of Kubernetes, such as that of kubectl proxy (default: that of the pod)')
    .option('--namespace <name>', 'the namespace of Jobs (default: that of the pod)')
    .option('--wait <time>', 'maximum wait for the store at the start', durationMs, 60_000)
    .addHelpText('after', help)
    .action(async (flags: KubernetesRunnerFlags) => {
      const { runKubernetesRunner } = await import('./run-kubernetes-runner.ts');
      await runKubernetesRunner(flags);
    });
}
