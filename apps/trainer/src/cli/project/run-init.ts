import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline/promises';
import { terminalText } from '@agentlightning/trace';
import { createTwoFilesPatch } from 'diff';
import { correctedModules, type TypeProblem, typeProblems } from '../../project-setup/check-types.ts';
import {
  type ChosenExport,
  configChange,
  type FileChange,
  type InitPlan,
  planInit,
} from '../../project-setup/plan-init.ts';
import { writeOutcome } from '../error-text.ts';

/** The flags of `agl init`. */
export interface InitFlags {
  readonly agent?: string;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/**
 * Shows what the set-up of the project in this folder changes, and writes it after confirmation.
 *
 * @throws AgentLightningError CONFIG when the project cannot be set up
 */
export async function runInit({ agent, yes = false, json = false }: InitFlags): Promise<void> {
  const folder = process.cwd();
  const plan = planInit(folder, agent ?? null);
  if (!json) process.stdout.write(planText(plan));
  const isWritten = plan.changes.length > 0 && (yes || (!json && (await isConfirmed())));
  if (isWritten) await writeChanges(folder, plan.changes);
  const problems = isWritten ? await checkConfiguration(folder, plan, { json }) : null;
  const { framework, changes, agent: chosen, packages } = plan;
  const record = {
    framework: framework.framework,
    version: framework.version,
    adapter: framework.adapter,
    changes: changes.map((change) => ({ file: change.file, diff: diffOf(change) })),
    calls: chosen?.name ?? null,
    other_exports: chosen?.others ?? [],
    packages,
    written: isWritten,
    type_errors: problems,
  };
  writeOutcome({ json }, { record, text: endText(folder, plan, isWritten) + problemText(problems) });
}

function planText({ framework, changes, agent }: InitPlan): string {
  const found = `Found ${framework.framework} ${framework.version ?? '(not installed)'}: ${framework.adapter}\n`;
  return `${found}${agent === null ? '' : choiceText(agent)}\n${changes.map((change) => terminalDiff(diffOf(change))).join('\n')}`;
}

/** The chosen export of several; empty when there is one only. */
function choiceText({ file, name, others }: ChosenExport): string {
  if (others.length === 0) return '';
  const text = `Chosen ${name} of ${file}, which also exports ${others.join(', ')}: correct agl.config.ts if wrong.`;
  return `${terminalText(text)}\n`;
}

function diffOf({ file, before, after }: FileChange): string {
  const oldName = before === null ? '/dev/null' : file;
  return createTwoFilesPatch(oldName, file, before ?? '', after).replace(/^(?:Index: .*\n)?=+\n/, '');
}

function terminalDiff(diff: string): string {
  return diff.split('\n').map(terminalText).join('\n');
}

async function isConfirmed(): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(es)?$/i.test((await terminal.question('\nWrite these changes? [y/N] ')).trim());
  } finally {
    terminal.close();
  }
}

async function writeChanges(folder: string, changes: readonly FileChange[]): Promise<void> {
  for (const { file, before, after } of changes) {
    await writeFile(path.join(folder, file), after, before === null ? { flag: 'wx' } : {});
  }
}

/**
 * Runs the project's type check on the written configuration, and once more on one with the imports that the errors ask for.
 *
 * @returns the remaining errors; null when the project has no type check, or the configuration is not new
 */
async function checkConfiguration(
  folder: string,
  { configured, packages }: InitPlan,
  { json }: { readonly json: boolean },
): Promise<readonly TypeProblem[] | null> {
  if (configured === null) return null;
  if (!json) process.stderr.write('Checking agl.config.ts with the type check of the project …\n');
  const { file, after } = configChange(configured);
  const problems = typeProblems(folder, file, packages);
  const modules = problems === null ? null : correctedModules(configured.modules, problems);
  if (problems === null || modules === null) return problems;
  await writeFile(path.join(folder, file), configChange({ ...configured, modules }).after);
  const remaining = typeProblems(folder, file, packages) ?? [];
  if (remaining.length < problems.length) return remaining;
  await writeFile(path.join(folder, file), after);
  return problems;
}

function problemText(problems: readonly TypeProblem[] | null): string {
  if (problems === null || problems.length === 0) return '';
  const lines = problems.map(({ line, code, message }) => `  agl.config.ts:${line} ${code}: ${terminalText(message)}`);
  return `\n\nThe type check of the project reports errors in agl.config.ts; correct them, or exclude the file in tsconfig.json:\n${lines.join('\n')}`;
}

function endText(folder: string, { changes, packages }: InitPlan, isWritten: boolean): string {
  const install = packages.length === 0 ? [] : [`${installCommand(folder)} ${packages.join(' ')}`];
  const next = [...install, 'npx agl doctor', 'npx agl dev', 'npx agl train']
    .map((command) => `  ${command}`)
    .join('\n');
  if (changes.length === 0) return `\nThe project is set up. Next:\n${next}`;
  if (!isWritten) return '\nNothing was written. Repeat with --yes to write the changes.';
  return `\nWritten: ${changes.map(({ file }) => file).join(', ')}. Set the tasks and the reward in agl.config.ts. Next:\n${next}`;
}

/** The command of the package manager whose lock file the project has. */
function installCommand(folder: string): string {
  const lockFiles = {
    'pnpm-lock.yaml': 'pnpm add',
    'yarn.lock': 'yarn add',
    'bun.lock': 'bun add',
    'bun.lockb': 'bun add',
  };
  const found = Object.entries(lockFiles).find(([file]) => existsSync(path.join(folder, file)));
  return found?.[1] ?? 'npm install';
}
