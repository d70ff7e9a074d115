import type { PromptTemplateResource } from '@agentlightning/core';
import type { CollectedRollout, PromptSet, PromptTrial } from '@agentlightning/core/algorithm';
import { modelCallFromSpan } from '@agentlightning/core/spans';

/** Minimum length of the searched text: shorter texts may occur by chance or be changed by the agent. */
const minCharacters = 6;

/** Number of trials on training tasks without the changed text after which a prompt counts as unused. */
const minTrials = 3;

/**
 * Finds prompts whose text is in no model call: changing them has no effect. For a version, the changed text is searched: an agent
 * that formats its prompt only once continues to use the first version.
 */
export class PromptUse {
  readonly #initial: PromptSet;
  /** Trials without the changed text, by prompt. */
  readonly #unseen: Map<string, number> = new Map();

  constructor(initial: PromptSet) {
    this.#initial = initial;
  }

  /**
   * The prompts that appear unused after a trial. Training tasks are few in a trial, and an agent may use a prompt for some tasks
   * only: several trials of changes are needed. A change without an effect may never reach the validation tasks.
   */
  unused({ prompts, split }: PromptTrial, collected: readonly CollectedRollout[]): readonly string[] {
    const isChanged = (name: string): boolean => prompts[name]?.template !== this.#initial[name]?.template;
    const checked = Object.entries(prompts).filter(([name]) => split === 'validation' || isChanged(name));
    if (checked.length === 0) return [];
    const requests = collected.flatMap(({ spans }) =>
      spans.flatMap((span) => JSON.stringify(modelCallFromSpan(span)?.request ?? '')),
    );
    return checked.flatMap(([name, prompt]) => {
      const text = this.#searchedText(name, prompt);
      if (text.length < minCharacters) return [];
      const isSeen = requests.some((request) => request.includes(text));
      if (split === 'validation') return isSeen ? [] : [name];
      // Once seen, a prompt is used.
      const unseen = isSeen ? Number.NEGATIVE_INFINITY : (this.#unseen.get(name) ?? 0) + 1;
      this.#unseen.set(name, unseen);
      return unseen >= minTrials ? [name] : [];
    });
  }

  /** The longest changed part of a template without placeholders, JSON-escaped. */
  #searchedText(name: string, { template }: PromptTemplateResource): string {
    const original = this.#initial[name]?.template ?? '';
    const known = template === original ? [] : partsOf(original);
    const parts = partsOf(template).filter((part) => !known.includes(part));
    const longest = parts.reduce((one, other) => (other.length > one.length ? other : one), '');
    return JSON.stringify(longest).slice(1, -1);
  }
}

function partsOf(template: string): readonly string[] {
  return template.split(/\{\w+\}|[{}\n]/).map((part) => part.trim());
}
