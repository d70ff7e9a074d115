import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../repository-files.ts';
import { engineModule, engineModuleText } from './generate-engines.ts';
import { runCommand } from './run-command.ts';
import { resultOf, type Step, type StepResult } from './step.ts';

/** The packages with generated code: that of their `.proto` files, and compiled kernels. */
const packageFolders = ['packages/runtime', 'packages/runtime-cpu', 'packages/runtime-tinker', 'packages/store'];

/**
 * Regenerates the code for protocol buffers, the kernels and the terms of engines, and compares it with the committed code. A package's `gen` also lints the
 * `.proto` files and, with a `baseline.binpb`, rejects breaking changes.
 */
export const generatedCodeStep: Step = {
  name: 'generated',
  description:
    'generated code matches its sources: the .proto files, which break nothing (buf), kernels, and the terms of engines',
  isExclusive: true,
  run: checkGeneratedCode,
};

async function checkGeneratedCode(): Promise<StepResult> {
  const problems: string[] = [];
  let files = 1;
  if (readFileSync(join(repositoryRoot, engineModule), 'utf8') !== engineModuleText()) {
    problems.push(
      `${engineModule} is out of date: run \`node tools/verify/generate-engines.ts\` and commit the changes.`,
    );
  }
  for (const packageFolder of packageFolders) {
    const checked = await checkPackage(packageFolder);
    problems.push(...checked.problems);
    files += checked.files;
  }
  return resultOf(problems, `${files} files`);
}

async function checkPackage(
  packageFolder: string,
): Promise<{ readonly problems: readonly string[]; readonly files: number }> {
  const cwd = join(repositoryRoot, packageFolder);
  const manifest = JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8')) as {
    readonly scripts?: Readonly<Record<string, string>>;
  };
  if (manifest.scripts?.gen === undefined) return { problems: [`${packageFolder} has no script \`gen\`.`], files: 0 };
  const before = fingerprints(cwd);
  const baseline = fingerprintOfBaseline(cwd);
  const generated = await runCommand(['pnpm', 'run', 'gen'], { cwd });
  if (!generated.isOk) return { problems: [generated.output], files: 0 };
  const after = fingerprints(cwd);
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (file) => before.get(file) !== after.get(file),
  );
  const stale = changed.map((file) => `src/gen/${file}`);
  if (fingerprintOfBaseline(cwd) !== baseline) stale.push(baselineName);
  return {
    problems: stale.map((file) => `${packageFolder}/${file} was out of date; it is up to date now: commit it.`),
    files: after.size,
  };
}

/** The committed contract, as the baseline of the comparison. */
const baselineName = 'baseline.binpb';

function fingerprintOfBaseline(packageFolder: string): string | null {
  const file = join(packageFolder, baselineName);
  return existsSync(file) ? fingerprintOf(file) : null;
}

function fingerprintOf(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

function fingerprints(packageFolder: string): ReadonlyMap<string, string> {
  const generatedFolder = join(packageFolder, 'src/gen');
  if (!existsSync(generatedFolder)) return new Map();
  const files = readdirSync(generatedFolder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return new Map(
    files.map((entry) => {
      const file = join(entry.parentPath, entry.name);
      return [file.slice(generatedFolder.length + 1), fingerprintOf(file)];
    }),
  );
}
