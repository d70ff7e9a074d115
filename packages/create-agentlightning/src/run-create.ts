import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { helpText, parseArguments } from './arguments.ts';
import { askChoices } from './ask-choices.ts';
import { CreateError } from './create-error.ts';
import { frameworks } from './frameworks.ts';
import { goals } from './goals.ts';
import { installCommands, packageManagerOf, runCommands } from './install-packages.ts';
import type { ProjectChoice } from './project-choice.ts';
import { projectFiles } from './project-files.ts';

/** Files that a new folder may have already. */
const harmless: ReadonlySet<string> = new Set(['.git', '.DS_Store', '.idea', '.vscode']);

/**
 * Writes the files of a project into a folder, which must be new or empty.
 *
 * @throws CreateError when the folder has files
 */
async function writeProject(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(folder, { recursive: true });
  const existing = (await readdir(folder)).filter((name) => !harmless.has(name));
  if (existing.length > 0) {
    const remedy = 'Choose another one. In an existing project, run npx agentlightning init.';
    throw new CreateError(`Folder is not empty: ${folder} has ${existing[0]}. ${remedy}`, 2);
  }
  for (const [name, text] of Object.entries(files)) {
    const file = join(folder, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text, { flag: 'wx' });
  }
}

/**
 * Creates a project as the command line and the answers of the user say.
 *
 * @param userAgent - that of the package manager that runs this process, which then installs
 * @returns the exit code
 */
export async function runCreate(args: readonly string[], userAgent: string | undefined): Promise<number> {
  try {
    await create(args, userAgent);
    return 0;
  } catch (error) {
    if (!(error instanceof CreateError)) throw error;
    if (error.message !== '') process.stderr.write(`error: ${error.message}\n`);
    return error.exitCode;
  }
}

async function create(args: readonly string[], userAgent: string | undefined): Promise<void> {
  const parsed = parseArguments(args);
  if (parsed.isHelp) {
    process.stdout.write(helpText);
    return;
  }
  const choice = await askChoices(parsed, process.stdin.isTTY && process.stdout.isTTY);
  await writeProject(choice.folder, projectFiles(choice));
  const manager = packageManagerOf(userAgent);
  const commands = installCommands(manager, projectPackages(choice));
  if (parsed.isInstalled) await runCommands(commands, choice.folder);
  const folder = relative(process.cwd(), choice.folder) || '.';
  const next = [
    ...(folder === '.' ? [] : [`cd ${folder}`]),
    ...(parsed.isInstalled ? [] : commands.map((command) => command.join(' '))),
    'npm test',
    ...(choice.goal === 'prompt' ? ['npm run try'] : []),
    'npm run train',
  ];
  process.stdout.write(`\nCreated ${folder}. ${goals[choice.goal].explanation}\n\nNext:\n  ${next.join('\n  ')}\n`);
}

/** The packages that a new project needs, as arguments of a package manager. */
export function projectPackages({ framework, goal }: ProjectChoice): {
  readonly dependencies: readonly string[];
  readonly devDependencies: readonly string[];
} {
  // The prompt is defined with core.
  const core = goal === 'prompt' ? ['@agentlightning/core'] : [];
  const rewards = goal === 'judge' ? ['@agentlightning/rewards'] : [];
  return {
    dependencies: ['@agentlightning/trainer', ...core, ...rewards, ...frameworks[framework].packages],
    devDependencies: ['vitest@^5', 'typescript', '@types/node@^24'],
  };
}
