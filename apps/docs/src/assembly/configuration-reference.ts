import { AgentLightningError } from '@agentlightning/core';
import {
  type Comment,
  type DeclarationReflection,
  type ProjectReflection,
  ReflectionKind,
  type SomeType,
} from 'typedoc';
import type { Page } from './page.ts';

/** A JSON Schema, as zod writes it. */
export interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
}

/** A configuration object: its documented type, and the schema that validates it, if zod describes it. */
export interface ConfigurationType {
  readonly heading: string;
  /** The name of the documented interface. */
  readonly interfaceName: string;
  readonly schema: JsonSchema | null;
}

interface Key {
  readonly path: string;
  readonly type: string;
  readonly limits: string;
  readonly isRequired: boolean;
  /** The `type` of the object of a union that has this key; null outside of unions. */
  readonly choice: string | null;
  /** Empty without a default. */
  readonly default: string;
  readonly meaning: string;
}

/** The page of the configuration keys. Fails for a key of a schema that has no documentation. */
export function configurationPage(project: ProjectReflection, types: readonly ConfigurationType[]): Page {
  const sections = types.map(({ heading, interfaceName, schema }) => {
    const reflection = findType(project, interfaceName);
    const keys = keysOf({ reflection, schema, prefix: '', depth: 0 });
    const missing = schemaPaths(schema, '').filter((path) => !keys.some((key) => key.path === path));
    if (missing.length > 0) {
      throw new AgentLightningError({
        code: 'CONFIG',
        message: `${interfaceName} documents no key ${missing.join(', ')}`,
        remedy: 'Add the key to the interface with a doc comment, and export the types of its value.',
      });
    }
    return `## ${heading}\n\n${entriesOf(keys)}`;
  });
  return {
    slug: 'reference/configuration',
    title: 'Configuration',
    description: 'Every key of agl.config.ts: type, limits, default and meaning.',
    order: 1,
    body: `${introduction}\n\n${sections.join('\n\n')}`,
  };
}

const introduction = `The default export of \`agl.config.ts\`, checked when it is loaded: all errors are reported at once, unknown keys with
the most similar known key. \`defineConfig\` adds the types in an editor. Types, limits and defaults on this page are those of the
schemas, the meanings those of the source.`;

/** An entry for each key, with its heading as an anchor. The outline of the page has the headings of level 3. */
function entriesOf(keys: readonly Key[]): string {
  return keys
    .map((key) => {
      const facts = [`\`${key.type.replaceAll(/\s+/g, ' ')}\``, key.limits, key.isRequired ? 'required' : key.default];
      const shown = facts.filter((fact) => fact !== '');
      const heading = key.path.includes('.') ? '####' : '###';
      return `${heading} \`${key.path}\`\n\n${shown.join(' · ')}\n\n${key.meaning}`.trim();
    })
    .join('\n\n');
}

interface Position {
  readonly reflection: DeclarationReflection;
  readonly schema: JsonSchema | null;
  readonly prefix: string;
  readonly depth: number;
}

/** Nesting below which types are not followed: no key is deeper. */
const maxDepth = 5;

function keysOf({ reflection, schema, prefix, depth }: Position): readonly Key[] {
  return membersOf(reflection).flatMap((member) => {
    const path = `${prefix}${member.name}`;
    const own = schema === null ? null : propertyOf(schema, member.name);
    // `Omit<…>` has the members of its argument; the schema has those that remain.
    if (own === null && schema !== null && hasProperties(schema)) return [];
    const nested = depth < maxDepth ? nestedTypes(member.type).flatMap(objectsOf) : [];
    const childPrefix = isRecord(member.type) ? `${path}.<name>.` : `${path}.`;
    const children = nested.flatMap((child) => {
      const chosen = own === null ? null : alternativeFor(own, child);
      const keys = keysOf({ reflection: child, schema: chosen, prefix: childPrefix, depth: depth + 1 });
      return keys.map((key) => ({ ...key, choice: choiceOf(child) ?? key.choice }));
    });
    return [keyOf(path, member, own), ...withoutRepeats(children)];
  });
}

function keyOf(path: string, member: DeclarationReflection, schema: JsonSchema | null): Key {
  return {
    path,
    type: typeText(member.type, schema),
    limits: limitsOf(schema),
    isRequired: !member.flags.isOptional,
    choice: null,
    default: defaultOf(member, schema),
    meaning: commentText(member.comment ?? member.signatures?.[0]?.comment).replaceAll(/(?<!\n)\n(?!\n|- )/g, ' '),
  };
}

/** The `type` of an object of a union; null for other objects. */
function choiceOf(reflection: DeclarationReflection): string | null {
  const type = membersOf(reflection).find(({ name }) => name === 'type')?.type;
  return type?.type === 'literal' && typeof type.value === 'string' ? type.value : null;
}

/** The alternative of a schema for an object of a union; the schema when it does not have one. */
function alternativeFor(schema: JsonSchema, reflection: DeclarationReflection): JsonSchema {
  const choice = choiceOf(reflection);
  if (choice === null) return schema;
  return alternatives(schema).find(({ properties }) => properties?.['type']?.const === choice) ?? schema;
}

/** Keys that several alternatives of a union have become one key with all of their types, and the meaning for each. */
function withoutRepeats(keys: readonly Key[]): readonly Key[] {
  return [...Map.groupBy(keys, ({ path }) => path).values()].flatMap((same) => {
    const [first] = same;
    if (first === undefined) return [];
    const type = [...new Set(same.flatMap((key) => key.type.split(' | ')))].join(' | ');
    const isSame = same.every((key) => key.meaning === first.meaning && key.default === first.default);
    const hasChoices = same.every(({ choice }) => choice !== null);
    if (isSame || !hasChoices) return [{ ...first, type }];
    const isRequired = same.every((key) => key.isRequired);
    const meanings = same.map(({ choice, ...key }) => {
      const fact = isRequired ? '' : key.isRequired ? 'required' : key.default;
      return `- \`type: '${choice}'\`: ${key.meaning}${fact === '' ? '' : ` (${fact})`}`;
    });
    return [{ ...first, type, isRequired, default: '', meaning: meanings.join('\n') }];
  });
}

/** Functions of a configuration may be methods. */
const keyKinds: number = ReflectionKind.Property | ReflectionKind.Method;

/** The properties of an interface, an object type, or the members of an intersection or union. */
function membersOf(reflection: DeclarationReflection): readonly DeclarationReflection[] {
  return objectsOf(reflection).flatMap(ownMembers);
}

function ownMembers({ children = [] }: DeclarationReflection): readonly DeclarationReflection[] {
  return children.filter(({ kind }) => (kind & keyKinds) !== 0);
}

/** The objects of a union or an intersection; otherwise the object. */
function objectsOf(reflection: DeclarationReflection): readonly DeclarationReflection[] {
  return ownMembers(reflection).length > 0 ? [reflection] : nestedTypes(reflection.type).flatMap(objectsOf);
}

/** The documented object types in a type. */
function nestedTypes(type: SomeType | undefined): readonly DeclarationReflection[] {
  if (type === undefined) return [];
  if (type.type === 'reflection') return [type.declaration];
  if (type.type === 'union' || type.type === 'intersection') return type.types.flatMap(nestedTypes);
  if (type.type === 'reference') {
    const target = type.reflection as DeclarationReflection | undefined;
    if (transparent.has(type.name)) return (type.typeArguments ?? []).flatMap(nestedTypes);
    if (target === undefined || !target.kindOf([ReflectionKind.Interface, ReflectionKind.TypeAlias])) return [];
    return followed.has(target.name) || /(Config|Options|Tls|Correction|Penalty)$/.test(target.name) ? [target] : [];
  }
  return [];
}

/** Types of keys that are objects of the configuration, besides those named `…Config` or `…Options`. */
const followed: ReadonlySet<string> = new Set([
  'ConfiguredReward',
  'LearningRate',
  'LearningRateSchedule',
  'ModelPrice',
  'RewardPart',
  'RuntimeTokenPrices',
]);

/** Generic types whose arguments are followed. */
const transparent: ReadonlySet<string> = new Set(['Readonly', 'Record', 'Omit', 'Pick', 'Partial']);

function isRecord(type: SomeType | undefined): boolean {
  if (type?.type === 'union') return type.types.some(isRecord);
  if (type?.type !== 'reference') return false;
  return type.name === 'Record' || (type.typeArguments ?? []).some(isRecord);
}

function findType(project: ProjectReflection, name: string): DeclarationReflection {
  const found = project.getReflectionsByKind(ReflectionKind.Interface | ReflectionKind.TypeAlias);
  const match = found.find((each) => each.name === name);
  if (match === undefined) {
    throw new AgentLightningError({
      code: 'CONFIG',
      message: `the API has no type ${name}`,
      remedy: 'Export it from the index of its package.',
    });
  }
  return match as DeclarationReflection;
}

function alternatives(schema: JsonSchema): readonly JsonSchema[] {
  const options = schema.anyOf ?? schema.oneOf;
  return options === undefined ? [schema] : options.flatMap(alternatives);
}

function propertyOf(schema: JsonSchema, name: string): JsonSchema | null {
  for (const each of alternatives(schema)) {
    const found = each.properties?.[name];
    if (found !== undefined) return found;
    if (typeof each.additionalProperties === 'object') return propertyOf(each.additionalProperties, name);
  }
  return null;
}

function hasProperties(schema: JsonSchema): boolean {
  return alternatives(schema).some(({ properties }) => properties !== undefined);
}

/** The paths of all keys of a schema. */
function schemaPaths(schema: JsonSchema | null, prefix: string): readonly string[] {
  // A secret is a text, or the object that `env` returns.
  if (schema === null || alternatives(schema).some(isAnyText)) return [];
  return alternatives(schema).flatMap((each) => [
    ...Object.entries(each.properties ?? {}).flatMap(([name, property]) => [
      `${prefix}${name}`,
      ...schemaPaths(property, `${prefix}${name}.`),
    ]),
    ...(typeof each.additionalProperties === 'object'
      ? schemaPaths(each.additionalProperties, `${prefix}<name>.`)
      : []),
  ]);
}

function isAnyText(schema: JsonSchema): boolean {
  return schema.type === 'string' && enumOf(schema) === undefined;
}

function typeText(type: SomeType | undefined, schema: JsonSchema | null): string {
  const choices = schema === null ? undefined : enumOf(schema);
  if (choices !== undefined) return choices.map((choice) => JSON.stringify(choice)).join(' | ');
  // Secrets are a parameter of some types of a configuration: they are read after it was checked.
  const written = type?.toString() ?? 'function';
  const text = written.replace('<TSecret>', '').replace(/\bT?Secret\b/, 'string | SecretVariable');
  return text === 'number' && schema?.type === 'integer' ? 'integer' : text.replaceAll('readonly ', '');
}

function enumOf(schema: JsonSchema): readonly unknown[] | undefined {
  return schema.enum ?? (schema.const === undefined ? undefined : [schema.const]);
}

/** The largest safe integer is zod's limit of every integer. */
const noLimit = Number.MAX_SAFE_INTEGER;

function limitsOf(schema: JsonSchema | null): string {
  const { minimum, maximum, exclusiveMinimum } = schema ?? {};
  const parts = [
    ...(minimum === undefined || minimum === -noLimit ? [] : [`≥ ${minimum}`]),
    ...(exclusiveMinimum === undefined ? [] : [`> ${exclusiveMinimum}`]),
    ...(maximum === undefined || maximum === noLimit ? [] : [`≤ ${maximum}`]),
  ];
  return parts.join(', ');
}

function defaultOf(member: DeclarationReflection, schema: JsonSchema | null): string {
  const described = member.comment
    ?.getTag('@default')
    ?.content.map(({ text }) => text)
    .join('')
    .trim()
    .replace(/^```\w*\n([\s\S]*)\n```$/, '`$1`');
  if (described !== undefined) return `default: ${described}`;
  return schema?.default === undefined ? '' : `default: \`${JSON.stringify(schema.default)}\``;
}

function commentText(comment: Comment | undefined): string {
  return (comment?.summary ?? []).map(({ text }) => text).join('');
}
