import { readText } from '../repository-files.ts';

const block = /^```\w+ title="([^"]+)"\n([\s\S]*?)^```$/gm;

/**
 * The files of recipe pages: their code blocks with a title, by file name.
 *
 * @param pages - names of files in `docs/recipes`
 */
export function recipeFiles(pages: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    pages.flatMap((page) =>
      [...readText(`docs/recipes/${page}`).matchAll(block)].map(([, name = '', code = '']): [string, string] => [
        name,
        code,
      ]),
    ),
  );
}
