import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../repository-files.ts';
import { runCommand } from './run-command.ts';
import { resultOf, type Step, type StepResult } from './step.ts';

const runtimeFolder = join(repositoryRoot, 'packages/runtime');
const generatedFolder = join(runtimeFolder, 'src/gen');

/** Generates the gRPC code again and compares: what is committed must be what the `.proto` files say. */
export const generatedCodeStep: Step = {
  name: 'generated',
  description: 'generated code matches the .proto files',
  run: checkGeneratedCode,
};

async function checkGeneratedCode(): Promise<StepResult> {
  const manifest = JSON.parse(readFileSync(join(runtimeFolder, 'package.json'), 'utf8')) as {
    readonly scripts?: Readonly<Record<string, string>>;
  };
  if (manifest.scripts?.gen === undefined) return resultOf(['packages/runtime has no script `gen`.'], '');
  const before = fingerprints();
  const generated = await runCommand(['pnpm', 'run', 'gen'], { cwd: runtimeFolder });
  if (!generated.isOk) return resultOf([generated.output], '');
  const after = fingerprints();
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (file) => before.get(file) !== after.get(file),
  );
  return resultOf(
    changed.map((file) => `packages/runtime/src/gen/${file} was out of date; it is up to date now: commit it.`),
    `${after.size} files`,
  );
}

function fingerprints(): ReadonlyMap<string, string> {
  if (!existsSync(generatedFolder)) return new Map();
  const files = readdirSync(generatedFolder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return new Map(
    files.map((entry) => {
      const file = join(entry.parentPath, entry.name);
      return [file.slice(generatedFolder.length + 1), createHash('sha256').update(readFileSync(file)).digest('hex')];
    }),
  );
}
