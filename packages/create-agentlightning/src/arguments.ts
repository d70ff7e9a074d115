import { parseArgs } from 'node:util';
import { CreateError } from './create-error.ts';
import { defaultFramework, type Framework, frameworks } from './frameworks.ts';
import { type Goal, goals } from './goals.ts';

/** Choices of the command line; null for absent ones. */
export interface Arguments {
  readonly folder: string | null;
  readonly framework: Framework | null;
  readonly goal: Goal | null;
  /** Takes the defaults instead of asking. */
  readonly isYes: boolean;
  readonly isInstalled: boolean;
  readonly isHelp: boolean;
}

/** The text of `--help`. */
export const helpText: string = `Usage: npm create agentlightning@latest [folder] -- [flags]

  --framework <name>  ${Object.keys(frameworks).join(', ')} (default: ${defaultFramework})
  --goal <name>       rl: reinforcement learning; judge: the same, with a judge as reward;
                      prompt: prompt optimisation; sft: fine-tuning (default: rl)
  --yes               takes the defaults instead of asking
  --no-install        writes the files only
  --help              this text

Without a terminal, flags that are missing have their defaults.
`;

const options = {
  framework: { type: 'string' },
  goal: { type: 'string' },
  yes: { type: 'boolean', short: 'y', default: false },
  'no-install': { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/**
 * Parses the command line.
 *
 * @throws CreateError for an unknown flag or value
 */
export function parseArguments(args: readonly string[]): Arguments {
  const { values, positionals } = parsed(args);
  const [folder = null, ...rest] = positionals;
  if (rest.length > 0) throw new CreateError(`Too many folders: ${positionals.join(' ')}. Pass one.`, 2);
  return {
    folder,
    framework: choiceOf('--framework', values.framework, frameworks),
    goal: choiceOf('--goal', values.goal, goals),
    isYes: values.yes,
    isInstalled: !values['no-install'],
    isHelp: values.help,
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (cause) {
    throw new CreateError(`${cause instanceof Error ? cause.message : cause}\nRun with --help for the flags.`, 2);
  }
}

function choiceOf<TName extends string>(
  flag: string,
  value: string | undefined,
  choices: Readonly<Record<TName, unknown>>,
): TName | null {
  if (value === undefined) return null;
  const names = Object.keys(choices) as TName[];
  const name = names.find((each) => each === value);
  if (name !== undefined) return name;
  throw new CreateError(`Unknown ${flag}: ${value}. Use one of ${names.join(', ')}.`, 2);
}
