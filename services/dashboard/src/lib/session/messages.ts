/** What people are told about their session. Word for word as they asked for it (001 §2.3, §2.8), in every language. */

export const SESSION_EXPIRED = "세션이 만료되었습니다. 다시 로그인해주세요.";
export const SIGN_IN_AND_TRY_AGAIN = "세션이 만료되었습니다. 로그인 후 다시 시도해주세요.";

/** Where a sign-out leads that nobody asked for. */
export const SIGN_IN_EXPIRED_PATH = "/sign-in?error=session_expired";
export const SIGN_IN_PATH = "/sign-in";
