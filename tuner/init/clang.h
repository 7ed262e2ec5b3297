/* SPDX-License-Identifier: MIT */
#ifndef HONE_TUNER_INIT_CLANG_H
#define HONE_TUNER_INIT_CLANG_H

/* libclang as `init` loads it, without its headers: the part of its stable C interface that is needed here. Structures
 * and numbers are those of clang-c/Index.h, the same since LLVM 8; functions go without their prefix clang_. */

typedef struct CXTranslationUnitImpl *CXTranslationUnit;
typedef struct {
    const void *data;
    unsigned private_flags;
} CXString;
typedef struct {
    int kind, xdata;
    const void *data[3];
} CXCursor;
typedef struct {
    const void *ptr_data[2];
    unsigned int_data;
} CXSourceLocation;
typedef struct {
    const void *ptr_data[2];
    unsigned begin_int_data, end_int_data;
} CXSourceRange;
typedef struct {
    int kind;
    void *data[2];
} CXType;
typedef struct {
    unsigned int_data[4];
    void *ptr_data;
} CXToken;
struct CXUnsavedFile {
    const char *Filename, *Contents;
    unsigned long Length;
};
typedef int CXCursorVisitor(CXCursor cursor, CXCursor parent, void *data);

enum { CXChildVisit_Break, CXChildVisit_Continue, CXChildVisit_Recurse };
enum { CX_CXXPublic = 1, CXToken_Comment = 4, CXTranslationUnit_KeepGoing = 0x200 };
enum {
    CXType_Bool = 3, CXType_Int = 17, CXType_Int128 = 20, CXType_Pointer = 101,
    CXType_Record = 105, CXType_Enum, CXType_ConstantArray = 112, CXType_DependentSizedArray = 116, CXType_Auto = 118
};
enum {
    CXCursor_UnexposedDecl = 1, CXCursor_StructDecl, CXCursor_UnionDecl, CXCursor_ClassDecl, CXCursor_EnumDecl,
    CXCursor_FieldDecl, CXCursor_EnumConstantDecl, CXCursor_FunctionDecl = 8, CXCursor_VarDecl, CXCursor_ParmDecl,
    CXCursor_TypedefDecl = 20, CXCursor_CXXMethod, CXCursor_Namespace, CXCursor_LinkageSpec, CXCursor_Constructor,
    CXCursor_TemplateTypeParameter = 27, CXCursor_NonTypeTemplateParameter, CXCursor_TemplateTemplateParameter,
    CXCursor_FunctionTemplate, CXCursor_ClassTemplate, CXCursor_TypeAliasDecl = 36, CXCursor_LastDecl = 39,
    CXCursor_CXXBaseSpecifier = 44, CXCursor_DeclRefExpr = 101
};

#define HN_CLANG_FUNCTIONS(X)                                                                                         \
    X(void *, createIndex, (int, int)) X(void, disposeIndex, (void *))                                                \
    X(int, parseTranslationUnit2, (void *, const char *, const char *const *,                                         \
        int, struct CXUnsavedFile *, unsigned, unsigned, CXTranslationUnit *))                                        \
    X(void, disposeTranslationUnit, (CXTranslationUnit)) X(CXCursor, getTranslationUnitCursor, (CXTranslationUnit))   \
    X(unsigned, visitChildren, (CXCursor, CXCursorVisitor *, void *)) X(CXString, getCursorSpelling, (CXCursor))      \
    X(CXString, Cursor_getMangling, (CXCursor)) X(unsigned, isCursorDefinition, (CXCursor))                           \
    X(CXCursor, getCursorSemanticParent, (CXCursor)) X(CXCursor, getSpecializedCursorTemplate, (CXCursor))            \
    X(CXSourceRange, getCursorExtent, (CXCursor)) X(CXSourceLocation, getCursorLocation, (CXCursor))                  \
    X(CXSourceLocation, getRangeStart, (CXSourceRange)) X(CXSourceLocation, getRangeEnd, (CXSourceRange))             \
    X(int, Location_isFromMainFile, (CXSourceLocation)) X(CXType, Type_getTemplateArgumentAsType, (CXType, unsigned)) \
    X(void, getFileLocation, (CXSourceLocation, void **, unsigned *, unsigned *, unsigned *))                         \
    X(CXType, getCursorType, (CXCursor)) X(CXType, getCanonicalType, (CXType))                                        \
    X(CXCursor, getTypeDeclaration, (CXType)) X(CXType, getArrayElementType, (CXType))                                \
    X(CXCursor, getCursorReferenced, (CXCursor)) X(CXType, getArgType, (CXType, unsigned))                             \
    X(CXType, Cursor_getTemplateArgumentType, (CXCursor, unsigned))                                                   \
    X(CXType, getPointeeType, (CXType)) X(CXString, getTypeSpelling, (CXType))                                        \
    X(unsigned, isConstQualifiedType, (CXType)) X(long long, Type_getSizeOf, (CXType))                                \
    X(unsigned, Cursor_isBitField, (CXCursor)) X(int, getCXXAccessSpecifier, (CXCursor))                              \
    X(unsigned, getNumDiagnostics, (CXTranslationUnit)) X(void *, getDiagnostic, (CXTranslationUnit, unsigned))       \
    X(CXString, getDiagnosticSpelling, (void *)) X(CXSourceLocation, getDiagnosticLocation, (void *))                 \
    X(void, disposeDiagnostic, (void *)) X(long long, getArraySize, (CXType))                                         \
    X(void, tokenize, (CXTranslationUnit, CXSourceRange, CXToken **, unsigned *))                                     \
    X(void, disposeTokens, (CXTranslationUnit, CXToken *, unsigned)) X(int, getTokenKind, (CXToken))                  \
    X(CXSourceLocation, getTokenLocation, (CXTranslationUnit, CXToken))                                               \
    X(CXString, getTokenSpelling, (CXTranslationUnit, CXToken)) X(const char *, getCString, (CXString))               \
    X(void, disposeString, (CXString))

/* prelude.cuh, names.in. */
extern const char hn_init_prelude[], hn_init_names[];

#endif
