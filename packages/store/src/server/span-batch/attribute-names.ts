import { plainAttribute } from './plain-span-pattern.ts';

/**
 * Looks whether each attribute has a name of its own, in text that is known to hold nothing but plain attributes: of
 * several with one name, JSON keeps the last.
 */
export class AttributeNames {
  /** The names that were found last, each once: spans that come together mostly have the same. */
  #names: readonly string[] = [];

  areUnique(attributes: string): boolean {
    const names = this.#names;
    let count = 0;
    let isKnown = true;
    plainAttribute.lastIndex = 0;
    for (let match = plainAttribute.exec(attributes); match !== null; match = plainAttribute.exec(attributes)) {
      isKnown &&= match[1] === names[count];
      count += 1;
    }
    return (isKnown && count <= names.length) || this.#learn(attributes);
  }

  #learn(attributes: string): boolean {
    const names: string[] = [];
    plainAttribute.lastIndex = 0;
    for (let match = plainAttribute.exec(attributes); match !== null; match = plainAttribute.exec(attributes))
      names.push(match[1] ?? '');
    if (new Set(names).size < names.length) return false;
    this.#names = names;
    return true;
  }
}
