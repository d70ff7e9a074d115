import { basename, resolve } from 'node:path';
import { cancel, select, text } from '@clack/prompts';
import type { Arguments } from './arguments.ts';
import { CreateError } from './create-error.ts';
import { defaultFramework, type Framework, frameworks } from './frameworks.ts';
import { type Goal, goals } from './goals.ts';
import type { ProjectChoice } from './project-choice.ts';

/** The default folder. */
const defaultFolder = 'my-agent';

/**
 * Returns the project to create and its folder. Prompts for choices absent on the command line, if there is a terminal.
 *
 * @throws CreateError when the user cancels
 */
export async function askChoices(
  { folder, framework, goal, isYes }: Arguments,
  isInteractive: boolean,
): Promise<ProjectChoice & { readonly folder: string }> {
  const isAsking = isInteractive && !isYes;
  const target =
    folder ?? (isAsking ? answerOf(await text({ message: 'Folder', initialValue: defaultFolder })) : defaultFolder);
  return {
    folder: resolve(target),
    name: packageName(basename(resolve(target))),
    framework:
      framework ??
      (isAsking
        ? answerOf<Framework>(
            await select<Framework>({
              message: 'Framework',
              options: optionsOf(frameworks),
              initialValue: defaultFramework,
            }),
          )
        : defaultFramework),
    goal:
      goal ?? (isAsking ? answerOf<Goal>(await select<Goal>({ message: 'Goal', options: optionsOf(goals) })) : 'rl'),
  };
}

function optionsOf<TName extends string>(
  choices: Readonly<Record<TName, { readonly label: string }>>,
): { value: TName; label: string }[] {
  return (Object.keys(choices) as TName[]).map((value) => ({ value, label: choices[value].label }));
}

/** The answer; a symbol means that the user has cancelled. */
function answerOf<TAnswer extends string>(answer: TAnswer | symbol): TAnswer {
  if (typeof answer === 'string') return answer;
  cancel('Nothing was created.');
  throw new CreateError('', 130);
}

/** The name of a folder as that of a package. */
function packageName(folder: string): string {
  const name = folder
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return name === '' ? defaultFolder : name;
}
