/** Puts a text into the clipboard, and says so. */
import { type ReactNode, useState } from "react";
import { useText } from "@/lib/i18n/i18n";
import { IconButton } from "./button";

export function CopyButton({ text }: { text: string }): ReactNode {
  const t = useText();
  const [isDone, setIsDone] = useState(false);
  return (
    <IconButton
      icon={isDone ? "check" : "copy"}
      label={isDone ? t.common.copied : t.common.copy}
      className="-my-1.5 align-middle"
      onClick={() => void navigator.clipboard?.writeText(text).then(() => setIsDone(true))}
    />
  );
}
