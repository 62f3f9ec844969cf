/** A form: what is written is sent by Enter or by a button, and the page stays. */
import type { ReactNode } from "react";

export interface FormProps {
  readonly submit: () => void;
  readonly id?: string;
  readonly className?: string;
  /** The form says itself what is wrong with its fields. */
  readonly noValidate?: boolean;
  readonly children?: ReactNode;
}

export function Form({ submit, ...rest }: FormProps): ReactNode {
  return (
    <form
      {...rest}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    />
  );
}
