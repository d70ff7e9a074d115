import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runCommand } from '../verify/run-command.ts';
import type { ExistingProject, ProjectStep } from './user-projects.ts';

/**
 * Sets up an existing project with `agl init`, runs the checks of the project itself, `agl doctor`, and its agent with
 * `agl dev`. Returns the problems.
 */
export async function setUpProblems(
  project: ExistingProject,
  { registry, folder }: { readonly registry: string; readonly folder: string },
): Promise<readonly string[]> {
  const files = { ...project.files, '.npmrc': `registry=${registry}\n`, 'answers.json': '["yes"]' };
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  const env = { npm_config_loglevel: 'error', NEXT_TELEMETRY_DISABLED: '1', OPENAI_API_KEY: '' };
  const steps: readonly ProjectStep[] = [
    [['npm', 'install', ...project.packages], /added/],
    [
      ['npx', '--yes', 'agentlightning', 'init', '--yes'],
      new RegExp(`npm install .*${project.adapter}(?![\\s\\S]*error)`),
    ],
    [['npm', 'install', '@agentlightning/trainer', project.adapter], /added/],
    ...project.checks,
    [['npx', 'agl', 'doctor'], /^0 errors/m],
    [['npx', 'agl', 'dev', '--tasks', '1', '--script', 'answers.json'], /reward 1$/m],
  ];
  for (const [command, expected] of steps) {
    const { output } = await runCommand(command, { cwd: folder, env });
    if (!expected.test(output)) return [`Unexpected output of ${command.join(' ')}:\n${output}`];
  }
  return [];
}
