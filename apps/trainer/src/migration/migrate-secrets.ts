import type { ImportDeclaration, Node, Property } from 'acorn';
import { type Edit, lineAt, propertyName, type SourceChanges, visit } from './source-text.ts';

/** Packages that export `env`. */
const packages: readonly unknown[] = ['@agentlightning/trainer', '@agentlightning/rewards'];

/** Replaces `apiKeyEnv: 'NAME'` by `apiKey: env('NAME')`, and imports `env`. */
export function changedSecrets(source: string, tree: Node): SourceChanges {
  const properties = propertiesOf(tree);
  if (properties.length === 0) return { edits: [], former: [] };
  const edits = properties.map(({ start, end, value }) => ({
    start,
    end,
    text: `apiKey: env(${source.slice(value.start, value.end)})`,
  }));
  return {
    edits: [...edits, ...importEdits(tree)],
    former: properties.map(({ start }) => ({ line: lineAt(source, start), text: 'apiKeyEnv → apiKey' })),
  };
}

function propertiesOf(tree: Node): readonly Property[] {
  const found: Property[] = [];
  visit(tree, (node) => {
    // Patterns have properties as well, which read a value.
    const { properties = [] } = node as Node & { readonly properties?: readonly Node[] };
    if (node.type !== 'ObjectExpression') return;
    for (const property of properties as readonly Property[]) {
      if (property.type === 'Property' && propertyName(property) === 'apiKeyEnv') found.push(property);
    }
  });
  return found;
}

/** Adds `env` to an import of a package that exports it, or a new import. */
function importEdits(tree: Node): readonly Edit[] {
  const imports: ImportDeclaration[] = [];
  visit(tree, (node) => {
    if (node.type === 'ImportDeclaration') imports.push(node as ImportDeclaration);
  });
  const names = imports.flatMap(({ specifiers }) => specifiers.map(({ local }) => local.name));
  if (names.includes('env')) return [];
  const last = imports
    .filter(({ source }) => packages.includes(source.value))
    .flatMap(({ specifiers }) => specifiers.findLast(({ type }) => type === 'ImportSpecifier') ?? [])[0];
  if (last !== undefined) return [{ start: last.end, end: last.end, text: ', env' }];
  const start = imports[0]?.start ?? 0;
  return [{ start, end: start, text: "import { env } from '@agentlightning/trainer';\n" }];
}
