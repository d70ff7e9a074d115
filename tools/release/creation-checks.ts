import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type CommandResult, runCommand } from '../verify/run-command.ts';

/** A project to create from the registry with `npm create`. */
export interface Creation {
  readonly framework: string;
  readonly goal: string;
  /** Output of `npm run train`, which succeeds unless the goal needs an API key. */
  readonly outcome: RegExp;
}

/** These frameworks learn on the embedded runtime; prompt optimisation reports that it needs a key. */
export const creations: readonly Creation[] = [
  { framework: 'ai-sdk', goal: 'rl', outcome: /The agent got better/ },
  { framework: 'fetch', goal: 'sft', outcome: /The agent got better/ },
  { framework: 'langgraph', goal: 'rl', outcome: /The agent got better/ },
  { framework: 'mastra', goal: 'rl', outcome: /The agent got better/ },
  { framework: 'openai-agents', goal: 'prompt', outcome: /OPENAI_API_KEY/ },
];

/** Creates a project in a folder, then tests and trains it as its README says. Returns the problems. */
export async function creationProblems(
  { framework, goal, outcome }: Creation,
  { registry, folder }: { readonly registry: string; readonly folder: string },
): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true });
  const env = {
    npm_config_registry: registry,
    npm_config_yes: 'true',
    npm_config_loglevel: 'error',
    // Inherited where pnpm runs this tool: the project would then be installed with pnpm.
    npm_config_user_agent: '',
    OPENAI_API_KEY: '',
  };
  const npm = async (cwd: string, args: readonly string[]): Promise<CommandResult> =>
    await runCommand(['npm', ...args], { cwd, env });
  const flags = ['--', '--framework', framework, '--goal', goal];
  const created = await npm(folder, ['create', 'agentlightning@latest', 'my-agent', ...flags]);
  if (!created.isOk) return [`npm create failed:\n${created.output}`];
  const project = join(folder, 'my-agent');
  const types = await npm(project, ['exec', '--', 'tsc', '-p', '.']);
  const tested = await npm(project, ['test']);
  const trained = await npm(project, ['run', 'train']);
  // Without a key, with scripted replies.
  const tried = goal === 'prompt' ? await npm(project, ['run', 'try']) : null;
  const isAsExpected = trained.isOk === (goal !== 'prompt') && outcome.test(trained.output);
  return [
    ...(types.isOk ? [] : [`Type errors in the created project:\n${types.output}`]),
    ...(tested.isOk ? [] : [`npm test failed:\n${tested.output}`]),
    ...(tried === null || /got better/.test(tried.output) ? [] : [`Unexpected end of npm run try:\n${tried.output}`]),
    ...(isAsExpected ? [] : [`Unexpected end of npm run train:\n${trained.output}`]),
  ];
}
