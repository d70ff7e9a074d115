import type { Node, ObjectExpression, Property } from 'acorn';
import { renamedKeys } from '../config/renamed-keys.ts';
import { changedSecrets } from './migrate-secrets.ts';
import { type Edit, lineAt, parseSource, propertyName, type SourceChanges, visit, withEdits } from './source-text.ts';

/** A configuration file with the present keys. */
export interface MigratedSource {
  readonly text: string;
  /** The former keys that it had, as `line: former → present`. */
  readonly renamed: readonly string[];
}

/** A property with a former key. */
interface Moved {
  readonly property: Property;
  readonly parent: ObjectExpression;
  readonly from: string;
  readonly to: string | null;
}

/**
 * Replaces the former keys in the source of a configuration file: in the object that `defineConfig` or `Trainer` gets, and the names of
 * secrets' variables everywhere. Other text is unchanged; a formatter arranges the new groups.
 *
 * @throws AgentLightningError CONFIG for a source that is not JavaScript or TypeScript
 */
export function migrateSource(source: string, file: string): MigratedSource {
  const secrets = changedSecrets(source, parseSource(source, file));
  const { former } = changedKeys(source, file);
  // One after the other: a former key may contain a secret.
  const withSecrets = withEdits(source, secrets.edits);
  const text = withEdits(withSecrets, changedKeys(withSecrets, file).edits);
  const names = [...former, ...secrets.former].toSorted((left, right) => left.line - right.line);
  return { text, renamed: names.map((each) => `${each.line}: ${each.text}`) };
}

function changedKeys(source: string, file: string): SourceChanges {
  const configs = configObjects(parseSource(source, file)).map((config) => ({
    config,
    moved: movedProperties(config),
  }));
  return {
    edits: configs.flatMap(({ config, moved }) => editsOf(source, config, moved)),
    former: configs.flatMap(({ moved }) =>
      moved.map(({ property, from, to }) => ({
        line: lineAt(source, property.start),
        text: `${from} → ${to ?? '(has no effect, removed)'}`,
      })),
    ),
  };
}

/** The objects that `defineConfig(…)`, `new Trainer(…)` and `export default` get. */
function configObjects(tree: Node): readonly ObjectExpression[] {
  const found = new Set<ObjectExpression>();
  visit(tree, (node) => {
    const value = node as Node & {
      readonly callee?: Node & { readonly name?: string };
      readonly arguments?: readonly Node[];
    };
    const declaration = (node as Node & { readonly declaration?: Node | null }).declaration ?? null;
    const isCall = value.callee?.name === 'defineConfig' || value.callee?.name === 'Trainer';
    const given = isCall ? value.arguments?.[0] : node.type === 'ExportDefaultDeclaration' ? declaration : null;
    if (given?.type === 'ObjectExpression') found.add(given as ObjectExpression);
  });
  return [...found];
}

function movedProperties(config: ObjectExpression): readonly Moved[] {
  return Object.entries(renamedKeys).flatMap(([from, to]) => {
    const [name = '', inner] = from.split('.');
    const outer = propertyOf(config, name);
    if (inner === undefined) return outer === null ? [] : [{ property: outer, parent: config, from, to }];
    if (outer?.value.type !== 'ObjectExpression') return [];
    const property = propertyOf(outer.value, inner);
    return property === null ? [] : [{ property, parent: outer.value, from, to }];
  });
}

function propertyOf(object: ObjectExpression, name: string): Property | null {
  const found = object.properties.find((property) => property.type === 'Property' && propertyName(property) === name);
  return found?.type === 'Property' ? found : null;
}

/** The edits of one configuration: the first key of a group becomes the group, unless the configuration has it. */
function editsOf(source: string, config: ObjectExpression, moved: readonly Moved[]): readonly Edit[] {
  const edits: Edit[] = [];
  const groups = Map.groupBy(moved, ({ to }) => to?.split('.')[0] ?? null);
  for (const [group, unordered] of groups) {
    const members = unordered.toSorted((left, right) => left.property.start - right.property.start);
    if (group === null) {
      edits.push(...members.map(({ property, parent }) => removal(source, parent, property)));
      continue;
    }
    const present = propertyOf(config, group);
    const whole = members.find(({ to }) => to === group);
    const added = members.flatMap(({ property, to }) => {
      const value = source.slice(property.value.start, property.value.end);
      const key = to?.split('.')[1];
      return key === undefined ? `...${value}` : [value === key ? key : `${key}: ${value}`];
    });
    const isOnlyRenamed = whole !== undefined && members.length === 1 && present === null;
    if (isOnlyRenamed) {
      const { property } = whole;
      const text = property.shorthand ? `${group}: ${source.slice(property.value.start, property.value.end)}` : group;
      edits.push({ start: property.start, end: property.key.end, text });
      continue;
    }
    if (present !== null) edits.push(...insertion(source, present, added));
    const [first, ...others] = members;
    const kept = present === null && first?.parent === config ? first : null;
    if (kept !== null) {
      const { start, end } = kept.property;
      const texts = [...spreadGroups(config, group, start), ...added];
      edits.push({ start, end, text: `${group}: { ${texts.map(inlined).join(', ')} }` });
    } else if (present === null && first !== undefined) {
      // The keys come from inner objects only: the group becomes the last property.
      const last = config.properties.at(-1);
      if (last !== undefined)
        edits.push({
          start: last.end,
          end: last.end,
          text: `, ${group}: { ${[...spreadGroups(config, group, last.end), ...added].join(', ')} }`,
        });
    }
    const removed = kept === null ? members : others;
    edits.push(...removed.map(({ property, parent }) => removal(source, parent, property)));
  }
  return edits;
}

/** A new group keeps those of the configurations that are spread before it: `{ ...config, dataDir }` has `...config.run`. */
function spreadGroups({ properties }: ObjectExpression, group: string, before: number): readonly string[] {
  return properties.flatMap((property) =>
    property.type === 'SpreadElement' && property.argument.type === 'Identifier' && property.end <= before
      ? [`...${property.argument.name}.${group}`]
      : [],
  );
}

/** The properties of a spread object literal stand in the group themselves. */
function inlined(text: string): string {
  const inner = /^\.\.\.\{([\s\S]*)\}$/.exec(text)?.[1];
  return inner === undefined ? text : inner.trim().replace(/,$/, '');
}

/** Adds properties at the begin of a group, so that those of the configuration win. */
function insertion(source: string, { value }: Property, texts: readonly string[]): readonly Edit[] {
  if (value.type === 'ObjectExpression') {
    const isEmpty = value.properties.length === 0;
    const text = ` ${texts.map(inlined).join(', ')}${isEmpty ? ' ' : ','}`;
    return [{ start: value.start + 1, end: value.start + 1, text }];
  }
  const given = source.slice(value.start, value.end);
  return [{ start: value.start, end: value.end, text: `{ ${texts.map(inlined).join(', ')}, ...${given} }` }];
}

/** Removes a property with its comma, and with its line where it stands alone. */
function removal(source: string, parent: ObjectExpression, property: Property): Edit {
  const after = /^[ \t]*,[ \t]*/.exec(source.slice(property.end))?.[0].length ?? 0;
  const end = property.end + after;
  const indent = /\n[ \t]*$/.exec(source.slice(0, property.start))?.[0].length ?? 0;
  if (indent > 0 && /^\r?\n/.test(source.slice(end))) return { start: property.start - indent, end, text: '' };
  if (after > 0) return { start: property.start, end, text: '' };
  // The last property: the comma before it goes.
  const index = parent.properties.indexOf(property);
  const before = parent.properties[index - 1];
  return { start: before?.end ?? property.start, end: property.end, text: '' };
}
