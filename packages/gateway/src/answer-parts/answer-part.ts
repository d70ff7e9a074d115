/** What a piece of an answer is, without its text. */
export type PartHead =
  | { readonly kind: 'reasoning' | 'text' | 'refusal' }
  | { readonly kind: 'call'; readonly id: string; readonly name: string };

/** A piece of a model's answer. The text of a call is its arguments, as the model wrote them. */
export type AnswerPart = PartHead & { readonly text: string };

/** How an answer comes, piece by piece: one piece begins, goes on and ends before the next one begins. */
export type PartStep =
  | { readonly step: 'begin'; readonly head: PartHead }
  | { readonly step: 'extend'; readonly text: string }
  | { readonly step: 'end'; readonly part: AnswerPart };
