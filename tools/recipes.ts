/**
 * `pnpm test:recipes`: runs the recipes of `docs/recipes` in projects outside the repository, with the packed packages. The
 * packages must have been built. `--only nextjs` selects some. The exit code is 1 if a recipe failed.
 *
 * @module
 */
import { parseArgs } from 'node:util';
import { withMatrixFolder } from './matrix/matrix-folder.ts';
import { packPackages } from './matrix/package-archives.ts';
import { recipes } from './recipes/recipes.ts';
import { runRecipe } from './recipes/run-recipe.ts';

const { values } = parseArgs({ options: { only: { type: 'string', multiple: true, default: [] } } });
const selected = recipes.filter(({ name }) => values.only.length === 0 || values.only.includes(name));
if (selected.length === 0) {
  console.error(`Unknown recipe: ${values.only.join(', ')}. Use one of ${recipes.map(({ name }) => name).join(', ')}.`);
  process.exit(2);
}

const failed = await withMatrixFolder(console.error, async (home) => {
  const packed = await packPackages(['core', 'fetch', 'otel', 'trace'], `${home}/archives`);
  let failures = 0;
  for (const recipe of selected) {
    const startedAt = performance.now();
    const problem = await runRecipe(recipe, { archives: [...packed.values()], home });
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    console.log(problem === null ? `✔ ${recipe.name} (${seconds} s)` : `✘ ${recipe.name}: ${problem}`);
    if (problem !== null) failures += 1;
  }
  return failures;
});
console.log(`${selected.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
