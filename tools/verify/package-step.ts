import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { archiveProblems, packPackage } from '../release/check-archive.ts';
import { publishedPackages } from '../release/published-packages.ts';
import type { Step, StepContext, StepResult } from './step.ts';

/**
 * Packs every published package and checks the archive: it must contain the files of its `exports` (publint) and types that
 * every resolver finds (Are The Types Wrong).
 */
export const packageStep: Step = {
  name: 'packages',
  description: 'packed: contents, publint, are-the-types-wrong',
  after: ['build'],
  run: checkPackages,
};

async function checkPackages({ flash }: StepContext): Promise<StepResult> {
  const target = await mkdtemp(join(tmpdir(), 'agentlightning-verify-'));
  const failures: string[] = [];
  let passed = 0;
  try {
    for (const { folder } of await publishedPackages()) {
      flash(folder);
      const problems = await archiveProblems(await packPackage(folder, target));
      if (problems.length === 0) passed += 1;
      else failures.push(`${folder}\n${problems.join('\n')}`);
    }
  } finally {
    await rm(target, { recursive: true, force: true });
  }
  return { passed, failed: failures.length, remark: `${passed} packages`, output: failures.join('\n\n') };
}
