import { join } from 'node:path';
import { build } from 'esbuild';
import { repositoryRoot } from '../repository-files.ts';
import type { MatrixFramework } from './frameworks.ts';
import type { ModuleFormat } from './runtimes.ts';

/**
 * Bundles the contract tests of an adapter into one program, as a user's own code would look: everything that comes
 * from a package stays an `import`, or a `require` in CommonJS.
 */
export async function contractProgram(framework: MatrixFramework, format: ModuleFormat): Promise<string> {
  const tests = framework.programs.map((file) => `import './${file}';`).join('\n');
  const contents = `${tests}
import { writeFileSync } from 'node:fs';
import { runCollectedTests } from 'vitest';
runCollectedTests().then((report) => {
  writeFileSync(process.argv[2], JSON.stringify(report));
  process.exit(0);
});`;
  return await bundle({
    stdin: { contents, resolveDir: join(repositoryRoot, 'packages', framework.adapter, 'test') },
    format,
    packages: 'external',
    alias: { ...framework.workspaceNames },
    // A test of a package is inside of it; a user's code has it by its name.
    plugins: [
      {
        name: 'own-package-by-name',
        setup: ({ onResolve }) => {
          onResolve({ filter: /^\.\.\/src\/index\.ts$/ }, () => ({
            path: `@agentlightning/${framework.adapter}`,
            external: true,
          }));
        },
      },
    ],
  });
}

/** The package `vitest` of the matrix: one file without dependencies. */
export async function vitestStandIn(): Promise<string> {
  return await bundle({ entryPoints: [join(import.meta.dirname, 'stand-in/vitest.ts')], format: 'esm' });
}

async function bundle(options: Parameters<typeof build>[0]): Promise<string> {
  const { outputFiles } = await build({
    bundle: true,
    platform: 'node',
    // The packages say that their files have no side effects; collecting tests is one.
    ignoreAnnotations: true,
    target: 'node22',
    write: false,
    logLevel: 'silent',
    ...options,
  });
  return outputFiles?.[0]?.text ?? '';
}
