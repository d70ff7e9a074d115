import { relative } from 'node:path';
import { helpText, parseArguments } from './arguments.ts';
import { askChoices } from './ask-choices.ts';
import { CreateError } from './create-error.ts';
import { goals } from './goals.ts';
import { installCommands, packageManagerOf, runCommands } from './install-packages.ts';
import { projectFiles } from './project-files.ts';
import { projectPackages } from './project-packages.ts';
import { writeProject } from './write-project.ts';

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
