import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { runCommand } from '../verify/run-command.ts';
import { bundleProgram } from './bundled-program.ts';
import { type Cell, columnOf, leftOutOf } from './cell.ts';
import { type ContractProgram, contractPrograms } from './contract-program.ts';
import type { ContractReport } from './stand-in/contract-report.ts';
import type { UserProject } from './user-project.ts';

/** What came of a field of the matrix. */
export interface CellResult extends ContractReport {
  readonly cell: Cell;
  readonly seconds: number;
  /** Whether it is the result of an earlier run with the very same files. */
  readonly isRemembered: boolean;
}

/** What a field is played with. */
export interface CellStage {
  readonly project: UserProject;
  /** The folder of the matrix. */
  readonly home: string;
  /** The start of the command that runs a program. */
  readonly command: readonly string[];
  /** The package `vitest` of the matrix. */
  readonly standIn: string;
  /** Whether an earlier result may stand. */
  readonly mayRemember: boolean;
}

/** A program that takes longer than this hangs, in milliseconds. */
const programTimeoutMs = 240_000;

/**
 * Plays the adapter contract in one field of the matrix, as a process of its own on that runtime.
 *
 * What passed once with the same archives, packages, program and runtime passes again: it is not played a second time.
 */
export async function playCell(cell: Cell, stage: CellStage): Promise<CellResult> {
  const { project, standIn } = stage;
  const failed = project.problems.map((reason) => ({ name: 'the installation', reason }));
  const programs = await contractPrograms(cell);
  const { version } = cell.runtime.package;
  const sources = programs.map(({ source }) => source);
  const key = createHash('sha256')
    .update([project.digest, version, standIn, JSON.stringify(cell.bundler), ...sources].join('\0'))
    .digest('hex');
  const memory = join(project.folder, 'results', `${columnOf(cell)}.json`);
  if (stage.mayRemember) {
    const remembered = await readRemembered(memory, key);
    if (remembered !== null) return { ...remembered, failed, cell, seconds: 0, isRemembered: true };
  }
  await rm(memory, { force: true });
  const startedAt = performance.now();
  const report: ContractReport = {
    passed: [],
    failed: [],
    skipped: leftOutOf(cell).map(({ scene, reason }) => ({ name: scene, reason })),
  };
  for (const program of programs) {
    const played = await runProgram(cell, { stage, program });
    report.passed.push(...played.passed.map((name) => program.name + name));
    report.failed.push(...played.failed.map(({ name, reason }) => ({ name: program.name + name, reason })));
    report.skipped.push(...played.skipped);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  if (report.failed.length === 0) {
    await mkdir(join(project.folder, 'results'), { recursive: true });
    await writeFile(memory, JSON.stringify({ key, report }));
  }
  return { ...report, failed: [...failed, ...report.failed], cell, seconds, isRemembered: false };
}

async function runProgram(
  cell: Cell,
  options: { readonly stage: CellStage; readonly program: ContractProgram },
): Promise<ContractReport> {
  const { stage, program } = options;
  const { command, home } = stage;
  const { folder } = stage.project;
  const path = join(folder, `${columnOf(cell)}${program.name === '' ? '' : '-register'}`);
  const file = `${path}.${cell.format === 'esm' || cell.bundler !== null ? 'mjs' : 'cjs'}`;
  const reportFile = `${path}.report.json`;
  await writeFile(file, program.source);
  await rm(reportFile, { force: true });
  const { format } = cell;
  const name = relative(join(home, 'projects'), path);
  let started = file;
  try {
    if (cell.bundler !== null) started = await bundleProgram(cell.bundler, { entry: file, format, home, name });
  } catch (error) {
    return { passed: [], failed: [{ name: 'the bundle', reason: String(error) }], skipped: [] };
  }
  const env = { NODE_ENV: 'test' };
  const { isOk, output } = await runCommand([...command, started, reportFile], {
    cwd: dirname(started),
    timeoutMs: programTimeoutMs,
    env,
  });
  const report = await readFile(reportFile, 'utf8').catch(() => null);
  if (report !== null && isOk) return JSON.parse(report) as ContractReport;
  return { passed: [], failed: [{ name: 'the program', reason: output || 'It ended without a word.' }], skipped: [] };
}

async function readRemembered(file: string, key: string): Promise<ContractReport | null> {
  const text = await readFile(file, 'utf8').catch(() => null);
  if (text === null) return null;
  const remembered = JSON.parse(text) as { readonly key: string; readonly report: ContractReport };
  return remembered.key === key ? remembered.report : null;
}
