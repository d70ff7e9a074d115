/** The type of a response part, without its text. */
export type PartHead =
  | { readonly kind: 'reasoning' | 'text' | 'refusal' }
  | { readonly kind: 'call'; readonly id: string; readonly name: string };

/** A part of a response. The text of a tool call is its arguments, as the model wrote them. */
export type ResponsePart = PartHead & { readonly text: string };

/** An event of a streamed part: each part starts, is extended and ends before the next one starts. */
export type PartStep =
  | { readonly step: 'begin'; readonly head: PartHead }
  | { readonly step: 'extend'; readonly text: string }
  | { readonly step: 'end'; readonly part: ResponsePart };
