import { AgentLightningError } from '@agentlightning/core';
import type { JudgedPrompts } from '@agentlightning/core/algorithm';
import { readRunProgress } from '@agentlightning/core/protocol';
import { didYouMean } from '@agentlightning/core/settings';
import { promptDiff } from '../../prompt-search/prompt-diff.ts';
import { type PromptKinds, versionRecord } from '../../prompt-search/prompts-file.ts';
import { readSearchState, type SearchRunState } from '../../prompt-search/search-run-state.ts';
import { chosenExampleLines, diffLines, versionTable } from '../../report/prompts-report.ts';
import { openExistingStore } from '../open-existing-store.ts';

/** The flags of `agl prompts`. */
export interface PromptsFlags {
  readonly store: string;
  readonly from: string;
  readonly to: string;
  readonly text?: boolean;
  readonly json?: boolean;
}

/**
 * Writes the versions of a search, or the difference between two.
 *
 * @throws AgentLightningError NOT_FOUND for an unknown run or version, CONFIG for a run that is not a prompt search
 */
export async function showPrompts(runId: string, flags: PromptsFlags): Promise<void> {
  const store = await openExistingStore(flags.store);
  try {
    const run = await store.getRun(runId);
    const kinds = readRunProgress(run).search?.kinds ?? {};
    process.stdout.write(`${outputOf(readSearchState(run), { runId, flags, kinds }).join('\n')}\n`);
  } finally {
    await store.close();
  }
}

function outputOf(
  state: SearchRunState,
  { runId, flags, kinds }: { readonly runId: string; readonly flags: PromptsFlags; readonly kinds: PromptKinds },
): readonly string[] {
  const { versions, best, ended } = state;
  if (versions.length === 0) {
    return [flags.json === true ? JSON.stringify({ run: runId, versions: [] }) : 'No version has been evaluated yet.'];
  }
  const from = versionOf(state, flags.from);
  const to = versionOf(state, flags.to);
  if (flags.json === true) {
    const diff = { from: from.version, to: to.version, text: promptDiff(from, to, kinds) };
    const records = versions.map((each) => versionRecord(each, kinds));
    return [JSON.stringify({ run: runId, best, ended, versions: records, diff })];
  }
  if (flags.text === true) {
    const prompts = Object.entries(to.prompts);
    if (prompts.length === 1) return prompts.map(([, { template }]) => template);
    return prompts.flatMap(([name, { template }]) => [`=== ${name} ===`, template]);
  }
  return [...versionTable(versions, best), '', ...diffLines(from, to, kinds), ...chosenExampleLines(to)];
}

function versionOf({ versions, best }: SearchRunState, name: string): JudgedPrompts {
  const wanted = name === 'best' ? best : name;
  const found = versions.find(({ version }) => version === wanted);
  if (found !== undefined) return found;
  const known = versions.map(({ version }) => version);
  throw new AgentLightningError({
    code: 'NOT_FOUND',
    message: `there is no version "${name}"${didYouMean(name, known)}`,
    remedy: `Use one of ${known.join(', ')}, or best.`,
  });
}
