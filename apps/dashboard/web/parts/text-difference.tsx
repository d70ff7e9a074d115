import { diffWordsWithSpace } from 'diff';
import { type ReactNode, useMemo } from 'react';

/** Maximum length of a compared text in characters: the comparison takes quadratic time for different texts. */
const maxLength = 8000;

/** A text with its difference from another: added words are marked, removed words are struck through. */
export function TextDifference({ text, base }: { readonly text: string; readonly base: string }): ReactNode {
  const isShort = text.length <= maxLength && base.length <= maxLength;
  const parts = useMemo(() => (isShort ? diffWordsWithSpace(base, text) : null), [base, text, isShort]);
  if (parts === null) return <pre className="foreign">{text}</pre>;
  return (
    <pre className="foreign difference">
      {parts.map(({ value, added, removed }, index) => {
        const Part = added ? 'ins' : removed ? 'del' : 'span';
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts follow from the texts
        return <Part key={index}>{value}</Part>;
      })}
    </pre>
  );
}
