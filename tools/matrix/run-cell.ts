import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { runCommand } from '../verify/run-command.ts';
import { bundleProgram } from './bundled-program.ts';
import { type Cell, columnOf, skippedScenesOf } from './cell.ts';
import { type ContractProgram, contractPrograms } from './contract-program.ts';
import type { UserProject } from './user-project.ts';
import type { ContractReport } from './vitest-shim/contract-report.ts';

/** The result of a matrix cell. */
export interface CellResult extends ContractReport {
  readonly cell: Cell;
  readonly seconds: number;
  /** Whether it is the cached result of an earlier run with identical files. */
  readonly isCached: boolean;
}

/** The environment of a cell. */
export interface CellEnvironment {
  readonly project: UserProject;
  /** The folder of the matrix. */
  readonly home: string;
  /** The prefix of the command that runs a program. */
  readonly command: readonly string[];
  /** The matrix's `vitest` package. */
  readonly vitestShim: string;
  /** Whether a cached result is accepted. */
  readonly useCache: boolean;
}

/** The timeout of a program, in milliseconds. */
const programTimeoutMs = 240_000;

/**
 * Runs the adapter contract for a cell of the matrix, in a child process on its runtime.
 *
 * A success with the same archives, packages, program and runtime is cached.
 */
export async function runCell(cell: Cell, stage: CellEnvironment): Promise<CellResult> {
  const { project, vitestShim } = stage;
  const failed = project.problems.map((reason) => ({ name: 'installation', reason }));
  const programs = await contractPrograms(cell);
  const { version } = cell.runtime.package;
  const sources = programs.map(({ source }) => source);
  const key = createHash('sha256')
    .update([project.digest, version, vitestShim, JSON.stringify(cell.bundler), ...sources].join('\0'))
    .digest('hex');
  const memory = join(project.folder, 'results', `${columnOf(cell)}.json`);
  if (stage.useCache) {
    const cached = await readCached(memory, key);
    if (cached !== null) return { ...cached, failed, cell, seconds: 0, isCached: true };
  }
  await rm(memory, { force: true });
  const startedAt = performance.now();
  const report: ContractReport = {
    passed: [],
    failed: [],
    skipped: skippedScenesOf(cell).map(({ scene, reason }) => ({ name: scene, reason })),
  };
  for (const program of programs) {
    const result = await runProgram(cell, { stage, program });
    report.passed.push(...result.passed.map((name) => program.name + name));
    report.failed.push(...result.failed.map(({ name, reason }) => ({ name: program.name + name, reason })));
    report.skipped.push(...result.skipped);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  if (report.failed.length === 0) {
    await mkdir(join(project.folder, 'results'), { recursive: true });
    await writeFile(memory, JSON.stringify({ key, report }));
  }
  return { ...report, failed: [...failed, ...report.failed], cell, seconds, isCached: false };
}

async function runProgram(
  cell: Cell,
  options: { readonly stage: CellEnvironment; readonly program: ContractProgram },
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
    return { passed: [], failed: [{ name: 'bundle', reason: String(error) }], skipped: [] };
  }
  const env = { NODE_ENV: 'test' };
  const { isOk, output } = await runCommand([...command, started, reportFile], {
    cwd: dirname(started),
    timeoutMs: programTimeoutMs,
    env,
  });
  const report = await readFile(reportFile, 'utf8').catch(() => null);
  if (report !== null && isOk) return JSON.parse(report) as ContractReport;
  return { passed: [], failed: [{ name: 'program', reason: output || 'No output.' }], skipped: [] };
}

async function readCached(file: string, key: string): Promise<ContractReport | null> {
  const text = await readFile(file, 'utf8').catch(() => null);
  if (text === null) return null;
  const cached = JSON.parse(text) as { readonly key: string; readonly report: ContractReport };
  return cached.key === key ? cached.report : null;
}
