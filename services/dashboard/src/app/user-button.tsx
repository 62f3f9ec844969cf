/** Who is signed in; their menu opens from here. */
import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";
import { useText } from "@/lib/i18n/i18n";
import { Icon } from "@/ui/icon";
import { useSignedIn } from "./context";

export function UserButton(
  props: ButtonHTMLAttributes<HTMLButtonElement> & { ref?: Ref<HTMLButtonElement> },
): ReactNode {
  const { user } = useSignedIn();
  const t = useText();
  const role = t.session.roles[user.role];
  return (
    <button
      type="button"
      {...props}
      aria-label={`${t.session.signedInAs} ${user.email ?? ""} ${role}`}
      className="flex h-8 items-center gap-2.5 rounded-md px-2.5 text-sm text-ink-2 hover:bg-hover hover:text-ink max-lg:justify-center max-lg:px-0 max-sm:size-10"
    >
      <Icon name="person" />
      <span className="min-w-0 flex-1 truncate text-left max-lg:sr-only" title={user.email ?? role}>
        {user.email ?? role}
      </span>
    </button>
  );
}
