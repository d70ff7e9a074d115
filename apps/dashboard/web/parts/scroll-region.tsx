import type { CSSProperties, ReactNode, Ref } from 'react';

/** A region that scrolls, also by keyboard. */
export function ScrollRegion(props: {
  readonly label: string;
  readonly children: ReactNode;
  readonly style?: CSSProperties;
  readonly ref?: Ref<HTMLElement>;
}): ReactNode {
  const { label, children, style, ref } = props;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard
    <section className="scroll-region" aria-label={label} tabIndex={0} style={style} ref={ref}>
      {children}
    </section>
  );
}
