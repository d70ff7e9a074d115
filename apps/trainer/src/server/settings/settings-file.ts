import { readFile } from 'node:fs/promises';
import { AgentLightningError } from '@agentlightning/core';
import { errorMessage } from '@agentlightning/core/internal';
import { parseSettings } from '@agentlightning/core/settings';
import {
  isMap,
  isNode,
  LineCounter,
  type Node,
  type ParsedNode,
  parseDocument,
  type Document as YamlDocument,
} from 'yaml';
import type { ServerSettings } from './server-settings.ts';
import { type SettingName, settings, settingsSchema } from './setting-table.ts';

/** The settings of a configuration file. */
export interface SettingsFile {
  readonly values: Partial<ServerSettings>;
  /** `<file>:<line>` of each setting in the file. */
  readonly positions: ReadonlyMap<SettingName, string>;
}

/**
 * Reads a configuration file in YAML or JSON. The key `$schema` is for editors.
 *
 * @throws AgentLightningError CONFIG that lists each problem with file, line and column
 */
export async function readSettingsFile(file: string): Promise<SettingsFile> {
  return parseSettingsFile(file, await readFile(file, 'utf8'));
}

function parseSettingsFile(file: string, text: string): SettingsFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  const { contents } = document;
  throwIssues(document.errors.map(({ pos: [offset], message }) => `${at(offset)}: ${message}`));
  if (contents === null) return { values: {}, positions: new Map() };
  if (!isMap(contents)) throw wrongFile([`${at(contents.range[0])}: must have settings such as "port: 4747"`]);

  const given: Record<string, unknown> = {};
  const positions = new Map<SettingName, string>();
  const issues: string[] = [];
  for (const { key, value } of contents.items as readonly { readonly key: ParsedNode; readonly value: unknown }[]) {
    const name = String(key);
    if (name === '$schema') continue;
    const setting = settings.find((known) => known.name === name);
    const node = setting !== undefined && isNode(value) && value.range ? value : key;
    const single = { [name]: isNode(value) ? jsonOf(value, document, file) : value };
    issues.push(...issuesOf(single).map((issue) => `${at(node.range?.[0] ?? 0)}: ${issue}`));
    Object.assign(given, single);
    if (setting !== undefined) positions.set(setting.name, `${file}:${lines.linePos(key.range[0]).line}`);
  }
  throwIssues(issues);
  return { values: given, positions };
}

/** @throws AgentLightningError CONFIG for aliases that expand to too many values */
function jsonOf(node: Node, document: YamlDocument, file: string): unknown {
  try {
    return node.toJS(document);
  } catch (cause) {
    throw wrongFile([`${file}: ${errorMessage(cause)}`]);
  }
}

/** What is wrong with one setting. */
function issuesOf(setting: Readonly<Record<string, unknown>>): readonly string[] {
  try {
    parseSettings(settingsSchema, setting);
    return [];
  } catch (error) {
    if (!AgentLightningError.isInstance(error)) throw error;
    const { issues } = error.details;
    return Array.isArray(issues) ? issues.map(String) : [error.message];
  }
}

function throwIssues(issues: readonly string[]): void {
  if (issues.length > 0) throw wrongFile(issues);
}

function wrongFile(issues: readonly string[]): AgentLightningError {
  return new AgentLightningError({
    code: 'CONFIG',
    message: issues.join('; '),
    remedy: 'Correct the configuration file. `agl config schema` prints its JSON Schema.',
    details: { issues },
  });
}
